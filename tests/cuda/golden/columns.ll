; shared 2048
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6")
{
entry:
  %".8" = inttoptr i64 %".2" to float addrspace(1)*
  %".9" = inttoptr i64 %".3" to float addrspace(1)*
  %".10" = inttoptr i64 %".4" to float addrspace(1)*
  %".23" = alloca double
  %".24" = alloca float
  %".129" = alloca double
  %".130" = alloca float
  br label %"body"
body:
  %".11" = call i64 @"thread"()
  %".12" = call i64 @"threads"()
  %".13" = and i64 %".11", 31
  %".14" = lshr i64 %".12", 5
  %".15" = lshr i64 %".11", 5
  %".16" = mul i64 %".1", 32
  %".17" = add i64 %".16", %".13"
  %".18" = icmp slt i64 %".17", %".5"
  %".19" = sub i64 %".5", 1
  %".20" = select  i1 %".18", i64 %".17", i64 %".19"
  %".21" = icmp eq i64 %".15", 0
  %".22" = and i1 %".18", %".21"
  store double              0x0, double* %".23"
  %".26" = mul i64 %".14", 1024
  br label %"head"
head:
  %".28" = phi  i64 [0, %"body"], [%".97", %"after.2"]
  %".29" = icmp slt i64 %".28", %".6"
  br i1 %".29", label %"loop", label %"after"
loop:
  store float              0x0, float* %".24"
  %".32" = add i64 %".28", %".15"
  %".33" = add i64 %".28", %".26"
  %".34" = icmp slt i64 %".33", %".6"
  %".35" = select  i1 %".34", i64 %".33", i64 %".6"
  %".36" = mul i64 %".14", 3
  %".37" = sub i64 %".35", %".36"
  %".38" = mul i64 %".14", 4
  br label %"head.1"
after:
  %".99" = and i64 %".11", 31
  %".100" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".101" = bitcast i8 addrspace(3)* %".100" to double addrspace(3)*
  br i1 1, label %"after.if", label %"after.endif"
head.1:
  %".40" = phi  i64 [%".32", %"loop"], [%".77", %"loop.1"]
  %".41" = icmp slt i64 %".40", %".37"
  br i1 %".41", label %"loop.1", label %"after.1"
loop.1:
  %".43" = mul nsw i64 %".5", %".40"
  %".44" = add nsw i64 %".20", %".43"
  %".45" = getelementptr float, float addrspace(1)* %".8", i64 %".44"
  %".46" = load float, float addrspace(1)* %".45", !alias.scope !4, !noalias !5
  %".47" = load float, float* %".24"
  %".48" = fadd reassoc float %".47", %".46"
  store float %".48", float* %".24"
  %".50" = mul i64 %".14", 1
  %".51" = add i64 %".40", %".50"
  %".52" = mul nsw i64 %".5", %".51"
  %".53" = add nsw i64 %".20", %".52"
  %".54" = getelementptr float, float addrspace(1)* %".8", i64 %".53"
  %".55" = load float, float addrspace(1)* %".54", !alias.scope !4, !noalias !5
  %".56" = load float, float* %".24"
  %".57" = fadd reassoc float %".56", %".55"
  store float %".57", float* %".24"
  %".59" = mul i64 %".14", 2
  %".60" = add i64 %".40", %".59"
  %".61" = mul nsw i64 %".5", %".60"
  %".62" = add nsw i64 %".20", %".61"
  %".63" = getelementptr float, float addrspace(1)* %".8", i64 %".62"
  %".64" = load float, float addrspace(1)* %".63", !alias.scope !4, !noalias !5
  %".65" = load float, float* %".24"
  %".66" = fadd reassoc float %".65", %".64"
  store float %".66", float* %".24"
  %".68" = mul i64 %".14", 3
  %".69" = add i64 %".40", %".68"
  %".70" = mul nsw i64 %".5", %".69"
  %".71" = add nsw i64 %".20", %".70"
  %".72" = getelementptr float, float addrspace(1)* %".8", i64 %".71"
  %".73" = load float, float addrspace(1)* %".72", !alias.scope !4, !noalias !5
  %".74" = load float, float* %".24"
  %".75" = fadd reassoc float %".74", %".73"
  store float %".75", float* %".24"
  %".77" = add nsw i64 %".40", %".38"
  br label %"head.1"
after.1:
  br label %"head.2"
head.2:
  %".80" = phi  i64 [%".40", %"after.1"], [%".90", %"loop.2"]
  %".81" = icmp slt i64 %".80", %".35"
  br i1 %".81", label %"loop.2", label %"after.2"
loop.2:
  %".83" = mul nsw i64 %".5", %".80"
  %".84" = add nsw i64 %".20", %".83"
  %".85" = getelementptr float, float addrspace(1)* %".8", i64 %".84"
  %".86" = load float, float addrspace(1)* %".85", !alias.scope !4, !noalias !5
  %".87" = load float, float* %".24"
  %".88" = fadd reassoc float %".87", %".86"
  store float %".88", float* %".24"
  %".90" = add nsw i64 %".80", %".14"
  br label %"head.2"
after.2:
  %".92" = load float, float* %".24"
  %".93" = fpext float %".92" to double
  %".94" = load double, double* %".23"
  %".95" = fadd double %".94", %".93"
  store double %".95", double* %".23"
  %".97" = add nsw i64 %".28", %".26"
  br label %"head"
after.if:
  %".103" = load double, double* %".23"
  %".104" = getelementptr double, double addrspace(3)* %".101", i64 %".11"
  store double %".103", double addrspace(3)* %".104"
  br label %"after.endif"
after.endif:
  call void @"barrier"()
  %".108" = mul i64 0, 32
  %".109" = add i64 %".99", %".108"
  %".110" = getelementptr double, double addrspace(3)* %".101", i64 %".109"
  %".111" = load double, double addrspace(3)* %".110"
  store double %".111", double* %".23"
  br label %"head.3"
head.3:
  %".114" = phi  i64 [1, %"after.endif"], [%".124", %"loop.3"]
  %".115" = icmp slt i64 %".114", %".14"
  br i1 %".115", label %"loop.3", label %"after.3"
loop.3:
  %".117" = mul i64 %".114", 32
  %".118" = add i64 %".99", %".117"
  %".119" = getelementptr double, double addrspace(3)* %".101", i64 %".118"
  %".120" = load double, double addrspace(3)* %".119"
  %".121" = load double, double* %".23"
  %".122" = fadd double %".121", %".120"
  store double %".122", double* %".23"
  %".124" = add nsw i64 %".114", 1
  br label %"head.3"
after.3:
  call void @"barrier"()
  %".127" = load double, double* %".23"
  %".128" = fptrunc double %".127" to float
  store double              0x0, double* %".129"
  %".132" = mul i64 %".14", 1024
  br label %"head.4"
head.4:
  %".134" = phi  i64 [0, %"after.3"], [%".208", %"after.6"]
  %".135" = icmp slt i64 %".134", %".6"
  br i1 %".135", label %"loop.4", label %"after.4"
loop.4:
  store float              0x0, float* %".130"
  %".138" = add i64 %".134", %".15"
  %".139" = add i64 %".134", %".132"
  %".140" = icmp slt i64 %".139", %".6"
  %".141" = select  i1 %".140", i64 %".139", i64 %".6"
  %".142" = mul i64 %".14", 3
  %".143" = sub i64 %".141", %".142"
  %".144" = mul i64 %".14", 4
  br label %"head.5"
after.4:
  %".210" = and i64 %".11", 31
  %".211" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".212" = bitcast i8 addrspace(3)* %".211" to double addrspace(3)*
  br i1 1, label %"after.4.if", label %"after.4.endif"
head.5:
  %".146" = phi  i64 [%".138", %"loop.4"], [%".187", %"loop.5"]
  %".147" = icmp slt i64 %".146", %".143"
  br i1 %".147", label %"loop.5", label %"after.5"
loop.5:
  %".149" = mul nsw i64 %".5", %".146"
  %".150" = add nsw i64 %".20", %".149"
  %".151" = getelementptr float, float addrspace(1)* %".8", i64 %".150"
  %".152" = load float, float addrspace(1)* %".151", !alias.scope !4, !noalias !5
  %".153" = fmul float %".152", %".152"
  %".154" = load float, float* %".130"
  %".155" = fadd reassoc float %".154", %".153"
  store float %".155", float* %".130"
  %".157" = mul i64 %".14", 1
  %".158" = add i64 %".146", %".157"
  %".159" = mul nsw i64 %".5", %".158"
  %".160" = add nsw i64 %".20", %".159"
  %".161" = getelementptr float, float addrspace(1)* %".8", i64 %".160"
  %".162" = load float, float addrspace(1)* %".161", !alias.scope !4, !noalias !5
  %".163" = fmul float %".162", %".162"
  %".164" = load float, float* %".130"
  %".165" = fadd reassoc float %".164", %".163"
  store float %".165", float* %".130"
  %".167" = mul i64 %".14", 2
  %".168" = add i64 %".146", %".167"
  %".169" = mul nsw i64 %".5", %".168"
  %".170" = add nsw i64 %".20", %".169"
  %".171" = getelementptr float, float addrspace(1)* %".8", i64 %".170"
  %".172" = load float, float addrspace(1)* %".171", !alias.scope !4, !noalias !5
  %".173" = fmul float %".172", %".172"
  %".174" = load float, float* %".130"
  %".175" = fadd reassoc float %".174", %".173"
  store float %".175", float* %".130"
  %".177" = mul i64 %".14", 3
  %".178" = add i64 %".146", %".177"
  %".179" = mul nsw i64 %".5", %".178"
  %".180" = add nsw i64 %".20", %".179"
  %".181" = getelementptr float, float addrspace(1)* %".8", i64 %".180"
  %".182" = load float, float addrspace(1)* %".181", !alias.scope !4, !noalias !5
  %".183" = fmul float %".182", %".182"
  %".184" = load float, float* %".130"
  %".185" = fadd reassoc float %".184", %".183"
  store float %".185", float* %".130"
  %".187" = add nsw i64 %".146", %".144"
  br label %"head.5"
after.5:
  br label %"head.6"
head.6:
  %".190" = phi  i64 [%".146", %"after.5"], [%".201", %"loop.6"]
  %".191" = icmp slt i64 %".190", %".141"
  br i1 %".191", label %"loop.6", label %"after.6"
loop.6:
  %".193" = mul nsw i64 %".5", %".190"
  %".194" = add nsw i64 %".20", %".193"
  %".195" = getelementptr float, float addrspace(1)* %".8", i64 %".194"
  %".196" = load float, float addrspace(1)* %".195", !alias.scope !4, !noalias !5
  %".197" = fmul float %".196", %".196"
  %".198" = load float, float* %".130"
  %".199" = fadd reassoc float %".198", %".197"
  store float %".199", float* %".130"
  %".201" = add nsw i64 %".190", %".14"
  br label %"head.6"
after.6:
  %".203" = load float, float* %".130"
  %".204" = fpext float %".203" to double
  %".205" = load double, double* %".129"
  %".206" = fadd double %".205", %".204"
  store double %".206", double* %".129"
  %".208" = add nsw i64 %".134", %".132"
  br label %"head.4"
after.4.if:
  %".214" = load double, double* %".129"
  %".215" = getelementptr double, double addrspace(3)* %".212", i64 %".11"
  store double %".214", double addrspace(3)* %".215"
  br label %"after.4.endif"
after.4.endif:
  call void @"barrier"()
  %".219" = mul i64 0, 32
  %".220" = add i64 %".210", %".219"
  %".221" = getelementptr double, double addrspace(3)* %".212", i64 %".220"
  %".222" = load double, double addrspace(3)* %".221"
  store double %".222", double* %".129"
  br label %"head.7"
head.7:
  %".225" = phi  i64 [1, %"after.4.endif"], [%".235", %"loop.7"]
  %".226" = icmp slt i64 %".225", %".14"
  br i1 %".226", label %"loop.7", label %"after.7"
loop.7:
  %".228" = mul i64 %".225", 32
  %".229" = add i64 %".210", %".228"
  %".230" = getelementptr double, double addrspace(3)* %".212", i64 %".229"
  %".231" = load double, double addrspace(3)* %".230"
  %".232" = load double, double* %".129"
  %".233" = fadd double %".232", %".231"
  store double %".233", double* %".129"
  %".235" = add nsw i64 %".225", 1
  br label %"head.7"
after.7:
  call void @"barrier"()
  %".238" = load double, double* %".129"
  %".239" = fptrunc double %".238" to float
  br i1 %".22", label %"after.7.if", label %"after.7.endif"
after.7.if:
  %".241" = getelementptr float, float addrspace(1)* %".9", i64 %".20"
  store float %".128", float addrspace(1)* %".241", !alias.scope !6, !noalias !7
  br label %"after.7.endif"
after.7.endif:
  br i1 %".22", label %"after.7.endif.if", label %"after.7.endif.endif"
after.7.endif.if:
  %".245" = getelementptr float, float addrspace(1)* %".10", i64 %".20"
  store float %".239", float addrspace(1)* %".245", !alias.scope !8, !noalias !9
  br label %"after.7.endif.endif"
after.7.endif.endif:
  ret void
}

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

declare i16 @"to_bf16"(float %".1")

@"shared" = external addrspace(3) global [0 x i8]
define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = call i64 @"threads"()
  %".8" = sub i64 32, 1
  %".9" = add i64 %".4", %".8"
  %".10" = udiv i64 %".9", 32
  ret i64 %".10"
}

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !"argument 2", !0 }
!4 = !{ !1 }
!5 = !{ !2, !3 }
!6 = !{ !2 }
!7 = !{ !1, !3 }
!8 = !{ !3 }
!9 = !{ !1, !2 }