; shared 2048
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  %".33" = alloca double
  %".34" = alloca float
  %".91" = alloca i64
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = icmp sgt i64 %".5", 1
  %".12" = select  i1 %".11", i64 %".5", i64 1
  %".13" = sub i64 %".12", 1
  %".14" = call i64 @"llvm.ctlz.i64"(i64 %".13", i1 0)
  %".15" = sub i64 64, %".14"
  %".16" = sub i64 %".10", 1
  %".17" = call i64 @"llvm.ctlz.i64"(i64 %".16", i1 0)
  %".18" = sub i64 64, %".17"
  %".19" = icmp slt i64 %".15", %".18"
  %".20" = select  i1 %".19", i64 %".15", i64 %".18"
  %".21" = shl i64 1, %".20"
  %".22" = sub i64 %".21", 1
  %".23" = and i64 %".9", %".22"
  %".24" = lshr i64 %".10", %".20"
  %".25" = mul i64 %".1", %".24"
  %".26" = lshr i64 %".9", %".20"
  %".27" = add i64 %".25", %".26"
  %".28" = icmp slt i64 %".27", %".4"
  %".29" = sub i64 %".4", 1
  %".30" = select  i1 %".28", i64 %".27", i64 %".29"
  %".31" = icmp eq i64 %".23", 0
  %".32" = and i1 %".28", %".31"
  store double              0x0, double* %".33"
  %".36" = mul i64 %".21", 1024
  br label %"head"
head:
  %".38" = phi  i64 [0, %"body"], [%".89", %"after.1"]
  %".39" = icmp slt i64 %".38", %".5"
  br i1 %".39", label %"loop", label %"after"
loop:
  store float              0x0, float* %".34"
  %".42" = add i64 %".38", %".23"
  %".43" = add i64 %".38", %".36"
  %".44" = icmp slt i64 %".43", %".5"
  %".45" = select  i1 %".44", i64 %".43", i64 %".5"
  br label %"head.1"
after:
  %".92" = icmp slt i64 %".21", 32
  %".93" = select  i1 %".92", i64 %".21", i64 32
  %".94" = lshr i64 %".93", 1
  store i64 %".94", i64* %".91"
  br label %"head.2"
head.1:
  %".47" = phi  i64 [%".42", %"loop"], [%".82", %"loop.1"]
  %".48" = icmp slt i64 %".47", %".45"
  br i1 %".48", label %"loop.1", label %"after.1"
loop.1:
  %".50" = mul nsw i64 %".30", %".5"
  %".51" = add nsw i64 %".50", %".47"
  %".52" = getelementptr float, float addrspace(1)* %".7", i64 %".51"
  %".53" = load float, float addrspace(1)* %".52", !alias.scope !3, !noalias !4
  %".54" = fcmp olt float %".53", 0xc05a000000000000
  %".55" = select  i1 %".54", float 0xc05a000000000000, float %".53"
  %".56" = fcmp ogt float %".55", 0x4056400000000000
  %".57" = select  i1 %".56", float 0x4056400000000000, float %".55"
  %".58" = call float @"llvm.fma.f32"(float %".57", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".59" = fsub float %".58", 0x4168001fc0000000
  %".60" = call float @"llvm.fma.f32"(float %".59", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".61" = call float @"llvm.fma.f32"(float %".59", float 0xbfe6300000000000, float %".57")
  %".62" = call float @"llvm.fma.f32"(float %".59", float 0x3f2bd01060000000, float %".61")
  %".63" = bitcast float %".60" to i32
  %".64" = shl i32 %".63", 23
  %".65" = bitcast float %".58" to i32
  %".66" = bitcast float %".60" to i32
  %".67" = sub i32 %".65", %".66"
  %".68" = shl i32 %".67", 23
  %".69" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".62", float 0x3f8123a020000000)
  %".70" = call float @"llvm.fma.f32"(float %".69", float %".62", float 0x3fa5558f20000000)
  %".71" = call float @"llvm.fma.f32"(float %".70", float %".62", float 0x3fc5554920000000)
  %".72" = call float @"llvm.fma.f32"(float %".71", float %".62", float 0x3fdfffffc0000000)
  %".73" = call float @"llvm.fma.f32"(float %".72", float %".62", float 0x3ff0000000000000)
  %".74" = call float @"llvm.fma.f32"(float %".73", float %".62", float 0x3ff0000000000000)
  %".75" = bitcast i32 %".64" to float
  %".76" = fmul float %".74", %".75"
  %".77" = bitcast i32 %".68" to float
  %".78" = fmul float %".76", %".77"
  %".79" = load float, float* %".34"
  %".80" = fadd reassoc float %".79", %".78"
  store float %".80", float* %".34"
  %".82" = add nsw i64 %".47", %".21"
  br label %"head.1"
after.1:
  %".84" = load float, float* %".34"
  %".85" = fpext float %".84" to double
  %".86" = load double, double* %".33"
  %".87" = fadd double %".86", %".85"
  store double %".87", double* %".33"
  %".89" = add nsw i64 %".38", %".36"
  br label %"head"
head.2:
  %".97" = load i64, i64* %".91"
  %".98" = icmp ugt i64 %".97", 0
  br i1 %".98", label %"loop.2", label %"after.2"
loop.2:
  %".100" = load i64, i64* %".91"
  %".101" = load double, double* %".33"
  %".102" = bitcast double %".101" to i64
  %".103" = trunc i64 %".102" to i32
  %".104" = trunc i64 %".100" to i32
  %".105" = call i32 @"shuffle"(i32 %".103", i32 %".104")
  %".106" = lshr i64 %".102", 32
  %".107" = trunc i64 %".106" to i32
  %".108" = trunc i64 %".100" to i32
  %".109" = call i32 @"shuffle"(i32 %".107", i32 %".108")
  %".110" = zext i32 %".105" to i64
  %".111" = zext i32 %".109" to i64
  %".112" = shl i64 %".111", 32
  %".113" = or i64 %".110", %".112"
  %".114" = bitcast i64 %".113" to double
  %".115" = load double, double* %".33"
  %".116" = fadd double %".115", %".114"
  store double %".116", double* %".33"
  %".118" = lshr i64 %".100", 1
  store i64 %".118", i64* %".91"
  br label %"head.2"
after.2:
  %".121" = icmp ugt i64 %".21", 32
  br i1 %".121", label %"after.2.if", label %"after.2.endif"
after.2.if:
  %".123" = sub i64 %".9", %".23"
  %".124" = lshr i64 %".123", 5
  %".125" = lshr i64 %".21", 5
  %".126" = lshr i64 %".9", 5
  %".127" = and i64 %".9", 31
  %".128" = icmp eq i64 %".127", 0
  %".129" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".130" = bitcast i8 addrspace(3)* %".129" to double addrspace(3)*
  br i1 %".128", label %"after.2.if.if", label %"after.2.if.endif"
after.2.endif:
  %".157" = load double, double* %".33"
  %".158" = fptrunc double %".157" to float
  %".159" = fdiv float %".158", 0x4053800000000000
  br i1 %".32", label %"after.2.endif.if", label %"after.2.endif.endif"
after.2.if.if:
  %".132" = load double, double* %".33"
  %".133" = getelementptr double, double addrspace(3)* %".130", i64 %".126"
  store double %".132", double addrspace(3)* %".133"
  br label %"after.2.if.endif"
after.2.if.endif:
  call void @"barrier"()
  %".137" = mul i64 0, 1
  %".138" = add i64 %".124", %".137"
  %".139" = getelementptr double, double addrspace(3)* %".130", i64 %".138"
  %".140" = load double, double addrspace(3)* %".139"
  store double %".140", double* %".33"
  br label %"head.3"
head.3:
  %".143" = phi  i64 [1, %"after.2.if.endif"], [%".153", %"loop.3"]
  %".144" = icmp slt i64 %".143", %".125"
  br i1 %".144", label %"loop.3", label %"after.3"
loop.3:
  %".146" = mul i64 %".143", 1
  %".147" = add i64 %".124", %".146"
  %".148" = getelementptr double, double addrspace(3)* %".130", i64 %".147"
  %".149" = load double, double addrspace(3)* %".148"
  %".150" = load double, double* %".33"
  %".151" = fadd double %".150", %".149"
  store double %".151", double* %".33"
  %".153" = add nsw i64 %".143", 1
  br label %"head.3"
after.3:
  call void @"barrier"()
  br label %"after.2.endif"
after.2.endif.if:
  %".161" = getelementptr float, float addrspace(1)* %".8", i64 %".30"
  store float %".159", float addrspace(1)* %".161", !alias.scope !4, !noalias !3
  br label %"after.2.endif.endif"
after.2.endif.endif:
  ret void
}

@"shared" = external addrspace(3) global [0 x i8]
declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4")
{
entry:
  %".6" = call i64 @"threads"()
  %".7" = icmp sgt i64 %".4", 1
  %".8" = select  i1 %".7", i64 %".4", i64 1
  %".9" = sub i64 %".8", 1
  %".10" = call i64 @"llvm.ctlz.i64"(i64 %".9", i1 0)
  %".11" = sub i64 64, %".10"
  %".12" = sub i64 %".6", 1
  %".13" = call i64 @"llvm.ctlz.i64"(i64 %".12", i1 0)
  %".14" = sub i64 64, %".13"
  %".15" = icmp slt i64 %".11", %".14"
  %".16" = select  i1 %".15", i64 %".11", i64 %".14"
  %".17" = lshr i64 %".6", %".16"
  %".18" = sub i64 %".17", 1
  %".19" = add i64 %".3", %".18"
  %".20" = udiv i64 %".19", %".17"
  ret i64 %".20"
}

declare i64 @"llvm.ctlz.i64"(i64 %".1", i1 %".2")

declare float @"llvm.fma.f32"(float %".1", float %".2", float %".3")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !1 }
!4 = !{ !2 }