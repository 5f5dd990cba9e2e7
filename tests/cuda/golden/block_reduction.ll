; shared 2048
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  %".18" = alloca double
  %".19" = alloca float
  %".85" = alloca i64
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = sub i64 %".10", 1
  %".12" = call i64 @"llvm.ctlz.i64"(i64 %".11", i1 0)
  %".13" = sub i64 64, %".12"
  %".14" = shl i64 1, %".13"
  %".15" = sub i64 %".14", 1
  %".16" = and i64 %".9", %".15"
  %".17" = icmp eq i64 %".16", 0
  store double              0x0, double* %".18"
  %".21" = mul nsw i64 %".4", %".5"
  %".22" = mul i64 %".14", 1024
  br label %"head"
head:
  %".24" = phi  i64 [0, %"body"], [%".83", %"after.2"]
  %".25" = icmp slt i64 %".24", %".21"
  br i1 %".25", label %"loop", label %"after"
loop:
  store float              0x0, float* %".19"
  %".28" = add i64 %".24", %".16"
  %".29" = add i64 %".24", %".22"
  %".30" = icmp slt i64 %".29", %".21"
  %".31" = select  i1 %".30", i64 %".29", i64 %".21"
  %".32" = mul i64 %".14", 3
  %".33" = sub i64 %".31", %".32"
  %".34" = mul i64 %".14", 4
  br label %"head.1"
after:
  %".86" = icmp slt i64 %".14", 32
  %".87" = select  i1 %".86", i64 %".14", i64 32
  %".88" = lshr i64 %".87", 1
  store i64 %".88", i64* %".85"
  br label %"head.3"
head.1:
  %".36" = phi  i64 [%".28", %"loop"], [%".65", %"loop.1"]
  %".37" = icmp slt i64 %".36", %".33"
  br i1 %".37", label %"loop.1", label %"after.1"
loop.1:
  %".39" = getelementptr float, float addrspace(1)* %".7", i64 %".36"
  %".40" = load float, float addrspace(1)* %".39", !alias.scope !3, !noalias !4
  %".41" = load float, float* %".19"
  %".42" = fadd reassoc float %".41", %".40"
  store float %".42", float* %".19"
  %".44" = mul i64 %".14", 1
  %".45" = add i64 %".36", %".44"
  %".46" = getelementptr float, float addrspace(1)* %".7", i64 %".45"
  %".47" = load float, float addrspace(1)* %".46", !alias.scope !3, !noalias !4
  %".48" = load float, float* %".19"
  %".49" = fadd reassoc float %".48", %".47"
  store float %".49", float* %".19"
  %".51" = mul i64 %".14", 2
  %".52" = add i64 %".36", %".51"
  %".53" = getelementptr float, float addrspace(1)* %".7", i64 %".52"
  %".54" = load float, float addrspace(1)* %".53", !alias.scope !3, !noalias !4
  %".55" = load float, float* %".19"
  %".56" = fadd reassoc float %".55", %".54"
  store float %".56", float* %".19"
  %".58" = mul i64 %".14", 3
  %".59" = add i64 %".36", %".58"
  %".60" = getelementptr float, float addrspace(1)* %".7", i64 %".59"
  %".61" = load float, float addrspace(1)* %".60", !alias.scope !3, !noalias !4
  %".62" = load float, float* %".19"
  %".63" = fadd reassoc float %".62", %".61"
  store float %".63", float* %".19"
  %".65" = add nsw i64 %".36", %".34"
  br label %"head.1"
after.1:
  br label %"head.2"
head.2:
  %".68" = phi  i64 [%".36", %"after.1"], [%".76", %"loop.2"]
  %".69" = icmp slt i64 %".68", %".31"
  br i1 %".69", label %"loop.2", label %"after.2"
loop.2:
  %".71" = getelementptr float, float addrspace(1)* %".7", i64 %".68"
  %".72" = load float, float addrspace(1)* %".71", !alias.scope !3, !noalias !4
  %".73" = load float, float* %".19"
  %".74" = fadd reassoc float %".73", %".72"
  store float %".74", float* %".19"
  %".76" = add nsw i64 %".68", %".14"
  br label %"head.2"
after.2:
  %".78" = load float, float* %".19"
  %".79" = fpext float %".78" to double
  %".80" = load double, double* %".18"
  %".81" = fadd double %".80", %".79"
  store double %".81", double* %".18"
  %".83" = add nsw i64 %".24", %".22"
  br label %"head"
head.3:
  %".91" = load i64, i64* %".85"
  %".92" = icmp ugt i64 %".91", 0
  br i1 %".92", label %"loop.3", label %"after.3"
loop.3:
  %".94" = load i64, i64* %".85"
  %".95" = load double, double* %".18"
  %".96" = bitcast double %".95" to i64
  %".97" = trunc i64 %".96" to i32
  %".98" = trunc i64 %".94" to i32
  %".99" = call i32 @"shuffle"(i32 %".97", i32 %".98")
  %".100" = lshr i64 %".96", 32
  %".101" = trunc i64 %".100" to i32
  %".102" = trunc i64 %".94" to i32
  %".103" = call i32 @"shuffle"(i32 %".101", i32 %".102")
  %".104" = zext i32 %".99" to i64
  %".105" = zext i32 %".103" to i64
  %".106" = shl i64 %".105", 32
  %".107" = or i64 %".104", %".106"
  %".108" = bitcast i64 %".107" to double
  %".109" = load double, double* %".18"
  %".110" = fadd double %".109", %".108"
  store double %".110", double* %".18"
  %".112" = lshr i64 %".94", 1
  store i64 %".112", i64* %".85"
  br label %"head.3"
after.3:
  %".115" = icmp ugt i64 %".14", 32
  br i1 %".115", label %"after.3.if", label %"after.3.endif"
after.3.if:
  %".117" = sub i64 %".9", %".16"
  %".118" = lshr i64 %".117", 5
  %".119" = lshr i64 %".14", 5
  %".120" = lshr i64 %".9", 5
  %".121" = and i64 %".9", 31
  %".122" = icmp eq i64 %".121", 0
  %".123" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".124" = bitcast i8 addrspace(3)* %".123" to double addrspace(3)*
  br i1 %".122", label %"after.3.if.if", label %"after.3.if.endif"
after.3.endif:
  %".151" = load double, double* %".18"
  %".152" = fptrunc double %".151" to float
  br i1 %".17", label %"after.3.endif.if", label %"after.3.endif.endif"
after.3.if.if:
  %".126" = load double, double* %".18"
  %".127" = getelementptr double, double addrspace(3)* %".124", i64 %".120"
  store double %".126", double addrspace(3)* %".127"
  br label %"after.3.if.endif"
after.3.if.endif:
  call void @"barrier"()
  %".131" = mul i64 0, 1
  %".132" = add i64 %".118", %".131"
  %".133" = getelementptr double, double addrspace(3)* %".124", i64 %".132"
  %".134" = load double, double addrspace(3)* %".133"
  store double %".134", double* %".18"
  br label %"head.4"
head.4:
  %".137" = phi  i64 [1, %"after.3.if.endif"], [%".147", %"loop.4"]
  %".138" = icmp slt i64 %".137", %".119"
  br i1 %".138", label %"loop.4", label %"after.4"
loop.4:
  %".140" = mul i64 %".137", 1
  %".141" = add i64 %".118", %".140"
  %".142" = getelementptr double, double addrspace(3)* %".124", i64 %".141"
  %".143" = load double, double addrspace(3)* %".142"
  %".144" = load double, double* %".18"
  %".145" = fadd double %".144", %".143"
  store double %".145", double* %".18"
  %".147" = add nsw i64 %".137", 1
  br label %"head.4"
after.4:
  call void @"barrier"()
  br label %"after.3.endif"
after.3.endif.if:
  %".154" = getelementptr float, float addrspace(1)* %".8", i64 0
  store float %".152", float addrspace(1)* %".154", !alias.scope !4, !noalias !3
  br label %"after.3.endif.endif"
after.3.endif.endif:
  ret void
}

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

declare i16 @"to_bf16"(float %".1")

@"shared" = external addrspace(3) global [0 x i8]
define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4")
{
entry:
  %".6" = call i64 @"threads"()
  %".7" = sub i64 %".6", 1
  %".8" = call i64 @"llvm.ctlz.i64"(i64 %".7", i1 0)
  %".9" = sub i64 64, %".8"
  %".10" = lshr i64 %".6", %".9"
  %".11" = sub i64 %".10", 1
  %".12" = add i64 1, %".11"
  %".13" = udiv i64 %".12", %".10"
  ret i64 %".13"
}

declare i64 @"llvm.ctlz.i64"(i64 %".1", i1 %".2")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !1 }
!4 = !{ !2 }